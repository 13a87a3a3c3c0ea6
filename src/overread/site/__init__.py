"""WHERE do people look? A local page on datasets, runs and builds, and the server behind it.

`shelf` says what there is to look at, `access` who may; every other module is one part of the API.
The page's own source is in `web/`, built into `site/assets` when the package is set up.
"""
