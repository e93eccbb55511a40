"""Shapes of shapely."""

import numpy as np
import shapely
import shapely.prepared
from shapely.geometry import LineString, MultiPoint, Point, Polygon

x = np.random.default_rng(0).random((10, 2))
p = Polygon(x).convex_hull
p.area
Point(x[0]).distance(Point(x[1]))
LineString(x).length
MultiPoint(x).envelope.area
shapely.points(x)[0]
shapely.area(shapely.buffer(shapely.points(x), 0.1)).sum().round(6)
shapely.contains_xy(p, x[:, 0], x[:, 1])
shapely.STRtree(shapely.points(x)).query(p.buffer(0.1)).shape
np.array(p.exterior.coords).shape
shapely.get_coordinates(p)[:2]
Point(x[0, 0], x[0, 1]).x
shapely.linestrings(x[:, 0], x[:, 1]).length
shapely.distance(shapely.points(x), Point(0, 0)).sum().round(6)
shapely.prepared.prep(p).contains(Point(*x.mean(0)))
shapely.affinity.rotate(p, x[0, 0] * 90).area
shapely.union_all(shapely.buffer(shapely.points(x), 0.1)).area.__round__(6)
shapely.box(*x.min(0), *x.max(0)).area
shapely.line_interpolate_point(LineString(x), np.linspace(0, 1, 3))[1]
