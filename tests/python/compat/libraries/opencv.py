"""Pictures with OpenCV: functions in C."""

import cv2
import numpy as np

rng = np.random.default_rng(0)
im = (rng.random((64, 48, 3)) * 255).astype(np.uint8)
g = cv2.cvtColor(im, cv2.COLOR_BGR2GRAY)
type(g).__name__
g.sum()
cv2.GaussianBlur(im, (5, 5), 1).sum()
cv2.Canny(g, 100, 200).sum()
cv2.resize(im, (20, 30)).shape
cv2.threshold(g, 127, 255, cv2.THRESH_BINARY)[1].sum()
c, h = cv2.findContours((g > 127).astype(np.uint8), cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)
len(c)
cv2.contourArea(c[0])
cv2.filter2D(im, -1, np.ones((3, 3)) / 9).sum()
cv2.warpAffine(im, np.float32([[1, 0, 2], [0, 1, 3]]), (48, 64)).sum()
pts = np.float32([[0, 0], [1, 0], [0, 1], [1, 1]])
cv2.getPerspectiveTransform(pts, pts * 2)
a = im.copy()
cv2.rectangle(a, (5, 5), (20, 20), (255, 0, 0), 2)
(a != im).sum()
cv2.circle(a, (10, 10), 5, (0, 255, 0), -1)
cv2.putText(a, "hi", (5, 30), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (255, 255, 255))
a.sum()
cv2.calcHist([im], [0], None, [8], [0, 256]).ravel()
cv2.dilate(g, np.ones((3, 3), np.uint8)).sum()
cv2.matchTemplate(g, g[5:15, 5:15], cv2.TM_CCOEFF_NORMED).max().round(4)
ok, buf = cv2.imencode(".png", im)
ok
(cv2.imdecode(buf, 1) == im).all()
cv2.kmeans(rng.random((50, 2)).astype(np.float32), 3, None, (3, 10, 1.0), 3, cv2.KMEANS_PP_CENTERS)[2].shape
out = np.empty_like(g)
cv2.medianBlur(g, 3, out)
out.sum()
cv2.fillPoly(np.zeros((20, 20), np.uint8), [np.array([[1, 1], [10, 1], [5, 10]], np.int32)], 1).sum()
cv2.split(im)[0].sum()
cv2.merge([g, g]).shape
cv2.addWeighted(im, 0.5, im, 0.5, 0).sum()
cv2.remap(im, np.zeros((4, 4), np.float32), np.zeros((4, 4), np.float32), cv2.INTER_LINEAR).sum()
cv2.solvePnP(np.float32(rng.random((6, 3))), np.float32(rng.random((6, 2))), np.eye(3), None)[0]
cv2.minAreaRect(c[0])[2] >= 0
cv2.dft(np.float32(g[:32, :32])).sum().round(0)
cv2.bitwise_and(g, g, mask=(g > 9).astype(np.uint8)).sum()
cv2.convexHull(c[0]).shape
cv2.Rodrigues(np.array([0.1, 0.2, 0.3]))[0].round(4)
cv2.goodFeaturesToTrack(g, 5, 0.01, 5).shape
cv2.flip(im, 1)[0, 0]
cv2.LUT(g, np.arange(256, dtype=np.uint8)[::-1].copy()).sum()
cv2.norm(im, im // 2)
cv2.copyMakeBorder(g, 1, 1, 1, 1, cv2.BORDER_REFLECT).shape
cv2.undistort(im, np.eye(3), np.zeros(5)).shape
