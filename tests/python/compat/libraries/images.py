"""Scikit-image's filters, labels, transforms and measures."""

import numpy as np
from skimage import (
    color,
    draw,
    exposure,
    feature,
    filters,
    measure,
    morphology,
    restoration,
    segmentation,
    transform,
    util,
)

rng = np.random.default_rng(0)
im = rng.random((64, 64))
im[20:40, 20:40] += 2
filters.gaussian(im, 2).sum().round(5)
filters.sobel(im).sum().round(5)
filters.threshold_otsu(im).round(5)
filters.median(im)[5, :3]
lab = measure.label(im > 1.5)
lab.max()
[round(r.area) for r in measure.regionprops(lab)]
measure.regionprops_table(lab, im, properties=("area", "mean_intensity"))
morphology.binary_erosion(im > 1.5).sum()
morphology.skeletonize(im > 1.5).sum()
morphology.remove_small_objects(im > 0.9, 5).sum()
morphology.disk(3).sum()
segmentation.slic(im, n_segments=10, channel_axis=None).max()
segmentation.watershed(im, markers=lab).sum()
segmentation.felzenszwalb(im, channel_axis=None).max()
transform.rotate(im, 30).sum().round(4)
transform.resize(im, (32, 32)).sum().round(4)
transform.warp(im, transform.AffineTransform(scale=(1.1, 1.1))).sum().round(4)
transform.hough_line(im > 1.5)[0].sum()
transform.radon(im, theta=[0.0, 45.0]).sum().round(3)
feature.canny(im).sum()
feature.peak_local_max(im, min_distance=3).shape
feature.hog(im).sum().round(5)
feature.corner_harris(im).sum().round(5)
feature.local_binary_pattern((im * 80).astype(np.uint8), 8, 1).sum()
feature.graycomatrix((im * 80).astype(np.uint8), [1], [0]).sum()
rgb = rng.random((16, 16, 3))
color.rgb2lab(rgb).sum().round(4)
color.rgb2gray(rgb).sum().round(5)
color.label2rgb(lab).sum().round(4)
exposure.equalize_hist(im).sum().round(4)
exposure.equalize_adapthist(im / im.max()).sum().round(3)
exposure.rescale_intensity(im, out_range=(0, 1)).sum().round(4)
restoration.denoise_tv_chambolle(im).sum().round(3)
restoration.unwrap_phase(im).sum().round(3)
restoration.denoise_nl_means(im).sum().round(3)
restoration.richardson_lucy(im / 4, np.ones((3, 3)) / 9, num_iter=3).sum().round(3)
rr, cc = draw.disk((10, 10), 5)
z = np.zeros((20, 20))
z[rr, cc] = 1
z.sum()
draw.polygon([0, 5, 5], [0, 0, 5])[0]
util.img_as_ubyte(rgb)[0, 0]
util.view_as_windows(im, (8, 8), 8).shape
util.random_noise(im / im.max(), rng=0).sum().round(3)
measure.find_contours(im, 1.5)[0].shape
measure.marching_cubes(rng.random((8, 8, 8)), 0.5)[0].shape
measure.moments(im).sum().round(1)
measure.ransac((rng.random((20, 2)), rng.random((20, 2))), transform.EuclideanTransform, 3, 1.0, rng=0)[
    1
].sum()
measure.block_reduce(im, (2, 2), np.mean).sum().round(4)
measure.profile_line(im, (0, 0), (10, 10)).round(4)[:3]
measure.shannon_entropy(im > 1)
