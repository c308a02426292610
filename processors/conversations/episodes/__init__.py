"""Segmentation of a conversation into *episodes*, each remembered and found as a whole.

:mod:`.fold` cuts a conversation as its turns come: into windows of twenty that overlap by three (1.1), or
where the topic changes, which :mod:`.boundaries` decides; :mod:`.state` is what is remembered in between, and
:mod:`.wording` what an episode says.  Begin with :class:`.fold.EpisodeFold`.
"""
