__version__ = "2.6.0+cu126"
debug = False
cuda = "12.6"
git_version = "simulated"
hip = None
xpu = None
