installed_ops = {"prebuilt": True}
accelerator_name = "cpu"
