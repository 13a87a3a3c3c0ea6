"""Server of the `overread view` page: shows datasets, runs and builds in the browser.

`shelf` holds what can be shown, `access` decides who may open it; every other module is one
part of the API. The page's own source is in `web/`, built into `site/assets` at installation.
"""
