def write(x):
    pass
