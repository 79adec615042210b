"""Transformations: each is a tracer class, a trace over any parent, and one kind of rule.

A jaxpr-to-jaxpr version of a transformation is always "evaluate the jaxpr under that trace inside a
stage", cached on the jaxpr.
"""
