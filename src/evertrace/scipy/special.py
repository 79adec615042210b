"""Special functions with the names and meaning of `scipy.special`."""

from evertrace._src import lazy
from evertrace._src.nn.normalization import logsumexp as logsumexp
from evertrace._src.scipy.special.bessel import bessel_jn as bessel_jn
from evertrace._src.scipy.special.bessel import i0 as i0
from evertrace._src.scipy.special.bessel import i0e as i0e
from evertrace._src.scipy.special.bessel import i1 as i1
from evertrace._src.scipy.special.bessel import i1e as i1e
from evertrace._src.scipy.special.bessel import sph_harm_y as sph_harm_y
from evertrace._src.scipy.special.counting import bernoulli as bernoulli
from evertrace._src.scipy.special.counting import comb as comb
from evertrace._src.scipy.special.counting import factorial as factorial
from evertrace._src.scipy.special.counting import poch as poch
from evertrace._src.scipy.special.elementary import boxcox as boxcox
from evertrace._src.scipy.special.elementary import boxcox1p as boxcox1p
from evertrace._src.scipy.special.elementary import entr as entr
from evertrace._src.scipy.special.elementary import expit as expit
from evertrace._src.scipy.special.elementary import kl_div as kl_div
from evertrace._src.scipy.special.elementary import log_softmax as log_softmax
from evertrace._src.scipy.special.elementary import logit as logit
from evertrace._src.scipy.special.elementary import rel_entr as rel_entr
from evertrace._src.scipy.special.elementary import softmax as softmax
from evertrace._src.scipy.special.elementary import xlog1py as xlog1py
from evertrace._src.scipy.special.elementary import xlogy as xlogy
from evertrace._src.scipy.special.error import dawsn as dawsn
from evertrace._src.scipy.special.error import erf as erf
from evertrace._src.scipy.special.error import erfc as erfc
from evertrace._src.scipy.special.error import erfcx as erfcx
from evertrace._src.scipy.special.error import erfinv as erfinv
from evertrace._src.scipy.special.error import fresnel as fresnel
from evertrace._src.scipy.special.error import log_ndtr as log_ndtr
from evertrace._src.scipy.special.error import ndtr as ndtr
from evertrace._src.scipy.special.error import ndtri as ndtri
from evertrace._src.scipy.special.error import owens_t as owens_t
from evertrace._src.scipy.special.error import wofz as wofz
from evertrace._src.scipy.special.gamma import beta as beta
from evertrace._src.scipy.special.gamma import betainc as betainc
from evertrace._src.scipy.special.gamma import betaln as betaln
from evertrace._src.scipy.special.gamma import digamma as digamma
from evertrace._src.scipy.special.gamma import gamma as gamma
from evertrace._src.scipy.special.gamma import gammainc as gammainc
from evertrace._src.scipy.special.gamma import gammaincc as gammaincc
from evertrace._src.scipy.special.gamma import gammaln as gammaln
from evertrace._src.scipy.special.gamma import gammasgn as gammasgn
from evertrace._src.scipy.special.gamma import loggamma as loggamma
from evertrace._src.scipy.special.gamma import multigammaln as multigammaln
from evertrace._src.scipy.special.gamma import polygamma as polygamma
from evertrace._src.scipy.special.gamma import zeta as zeta
from evertrace._src.scipy.special.hypergeometric import hyp1f1 as hyp1f1
from evertrace._src.scipy.special.hypergeometric import hyp2f1 as hyp2f1
from evertrace._src.scipy.special.integrals import exp1 as exp1
from evertrace._src.scipy.special.integrals import expi as expi
from evertrace._src.scipy.special.integrals import expn as expn
from evertrace._src.scipy.special.integrals import sici as sici
from evertrace._src.scipy.special.integrals import spence as spence

lazy.refuse_others(__name__)
