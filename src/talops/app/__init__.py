"""What a face of talops needs: open a site, run, look; it neither prints nor reads the environment.

A face is a command line, a web server or a test. It passes the environment in, shows events and
answers questions (`face.Face`), and waits for the coroutines of this package.
"""
