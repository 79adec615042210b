"""What stands, in user code during a trace, for the builtins that show an object's identity."""

import threading


def identity_stand_ins(recorder):
    """Return what stands for the builtins that show an object's identity."""

    def on_thread():
        return threading.get_ident() == recorder.thread

    def depends(x):
        if on_thread():
            recorder.identity.depend_on(x)

    def id_(x, /):
        depends(x)
        return recorder.questions.id_of(x) if on_thread() else id(x)

    def hash_(x, /):
        if type(x).__hash__ is object.__hash__:
            depends(x)
        return hash(x)

    def repr_(x, /):
        if type(x).__repr__ is object.__repr__:
            depends(x)
        return repr(x)

    return {"id": id_, "hash": hash_, "repr": repr_}
