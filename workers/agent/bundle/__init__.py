"""Does the jobs of a bundle on a device without a network; the results are one signed file.

``trust`` verifies the bundle by the hub's key; ``hub`` is the hub as the jobs see it; ``answers``
answers their reads; ``journal`` stores their writes; ``run`` does the jobs and packs the results.
"""
