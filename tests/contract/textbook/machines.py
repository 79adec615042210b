"""Accounts, state machines, event queues: classes as textbooks have them."""


class BankAccount:
    fee = 1

    def __init__(self, owner, balance=0):
        self.owner, self.balance, self.history = owner, balance, []

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError(f"cannot deposit {amount}")
        self.balance += amount
        self.history.append(("deposit", amount))
        return self.balance

    def withdraw(self, amount):
        if amount + self.fee > self.balance:
            raise RuntimeError("insufficient funds", self.balance, amount)
        self.balance -= amount + self.fee
        self.history.append(("withdraw", amount))

    def statement(self):
        lines = [f"{kind:10}{amount:8.2f}" for kind, amount in self.history]
        return "\n".join([self.owner, *lines, f"{self.balance:18.2f}"])


class Inventory:
    def __init__(self):
        self.stock, self.orders = {}, 0

    def add(self, item, count=1):
        self.stock[item] = self.stock.get(item, 0) + count

    def remove(self, item, count=1):
        if self.stock.get(item, 0) < count:
            raise KeyError(item)
        self.stock[item] -= count
        self.orders += 1
        if self.stock[item] == 0:
            del self.stock[item]
        return sorted(self.stock)


class TrafficLight:
    order = ("green", "yellow", "red")
    durations = {"green": 30, "yellow": 5, "red": 20}  # noqa: RUF012

    def __init__(self):
        self.state, self.elapsed = "red", 0

    def tick(self, seconds):
        self.elapsed += seconds
        while self.elapsed >= self.durations[self.state]:
            self.elapsed -= self.durations[self.state]
            self.state = self.order[(self.order.index(self.state) + 1) % 3]
        return self.state


class Turnstile:
    def __init__(self):
        self.state, self.coins = "locked", 0

    def event(self, name):
        match self.state, name:
            case "locked", "coin":
                self.state, self.coins = "open", self.coins + 1
            case "open", "push":
                self.state = "locked"
            case _, "push":
                raise PermissionError("locked")
        return self.state


class VendingMachine:
    def __init__(self, prices):
        self.prices, self.credit, self.sold = dict(prices), 0, []

    def insert(self, coin):
        if coin not in (0.5, 1, 2):
            raise ValueError(coin)
        self.credit += coin

    def choose(self, item):
        if self.prices[item] > self.credit:
            return None
        self.credit -= self.prices[item]
        self.sold.append(item)
        return item, self.credit


class Tokenizer:
    def __init__(self, text):
        self.text, self.at = text, 0

    def next(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        if self.at == len(self.text):
            return None
        start = self.at
        if self.text[self.at].isdigit():
            while self.at < len(self.text) and self.text[self.at].isdigit():
                self.at += 1
            return int(self.text[start : self.at])
        self.at += 1
        return self.text[start]


class Calculator:
    def __init__(self):
        self.stack, self.memory = [], {}

    def run(self, program):
        operators = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}
        for word in program:
            if word in operators:
                b, a = self.stack.pop(), self.stack.pop()
                self.stack.append(operators[word](a, b))
            elif isinstance(word, str):
                self.memory[word] = self.stack[-1]
            else:
                self.stack.append(word)
        return self.stack[-1]


class EventQueue:
    def __init__(self):
        self.time, self.events, self.log = 0, [], []

    def schedule(self, delay, name):
        self.events.append((self.time + delay, len(self.events), name))
        self.events.sort()

    def run(self, until):
        while self.events and self.events[0][0] <= until:
            self.time, _, name = self.events.pop(0)
            self.log.append(f"{self.time:g} {name}")
        self.time = until
        return len(self.log)


def calls(array):
    """Return what to call: arguments of functions, and of classes the steps."""
    return {
        BankAccount: (
            ("ann", 10),
            [("deposit", 5), ("withdraw", 3), ("withdraw", 50), ("deposit", -1), ("deposit", 2.5),
             ("statement",)],
        ),
        Inventory: (
            (),
            [("add", "nut", 3), ("add", "bolt"), ("remove", "nut", 2), ("remove", "bolt"),
             ("remove", "bolt"), ("add", "nut", 2), ("remove", "nut", 3)],
        ),
        TrafficLight: ((), [("tick", 10), ("tick", 15), ("tick", 30), ("tick", 0.5), ("tick", 60)]),
        Turnstile: ((), [("event", e) for e in ("push", "coin", "coin", "push", "push", "coin")]),
        VendingMachine: (
            ({"tea": 1.5, "nuts": 2},),
            [("insert", 1), ("choose", "tea"), ("insert", 2), ("choose", "tea"), ("insert", 3),
             ("choose", "cake"), ("insert", 0.5), ("choose", "nuts")],
        ),
        Tokenizer: (("12 + 3*x",), [("next",)] * 7),
        Calculator: (
            (),
            [("run", [1, 2, "+"]), ("run", [2.5, "*"]), ("run", ["x", 0, "/"]), ("run", [4])],
        ),
        EventQueue: (
            (),
            [("schedule", 2, "a"), ("schedule", 1.5, "b"), ("run", 1.75), ("schedule", 1, "c"),
             ("run", 5)],
        ),
    }  # fmt: skip
