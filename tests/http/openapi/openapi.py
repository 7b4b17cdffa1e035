"""docs/openapi.yaml as something to hold answers to: Spec.check says what is wrong with one.

An answer's status must be documented for its path and method, its Content-Type must be the documented one, its body
must have every member of its schema, of the right type, and no other, and so must the documented headers.
"""
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    sys.exit(f"{missing}: apt-get install python3-yaml python3-jsonschema")

METHODS = ("get", "put", "post", "patch", "delete")


def resolved(node, root):
    """The document with every $ref replaced and `nullable` in the words of JSON Schema."""
    if isinstance(node, list):
        return [resolved(item, root) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = root
        for step in node["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return resolved(target, root)
    node = {key: resolved(value, root) for key, value in node.items()}
    if node.pop("nullable", False) is True:
        node["type"] = [node["type"], "null"]
    return node


class Spec:
    def __init__(self, path):
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.document = resolved(raw, raw)
        self.paths = self.document["paths"]
        self.components = self.document["components"]
        self.seen = set()
        self.codes = set()

    def operations(self):
        for path, item in self.paths.items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    def check(self, answer, responses, where, operation_id=None):
        """`answer` is what `responses` says it may be; else AssertionError."""
        response = responses.get(str(answer.status))
        assert response, f"{where}: {answer.status} is not documented: {answer.text[:300]}"
        self.seen.add((operation_id, answer.status))
        for name, header in response.get("headers", {}).items():
            value = answer.headers.get(name)
            assert value is not None or not header.get("required"), f"{where}: {answer.status} without {name}"
            if value is not None:
                self.validate(value, header["schema"], f"{where}: {name}")
        content = response.get("content")
        if not content:
            return
        (media, described), = content.items()
        assert answer.headers.get("Content-Type") == media, f"{where}: {answer.headers.get('Content-Type')}"
        if not media.endswith("json"):
            assert answer.text, f"{where}: an empty body"
            return
        self.validate(answer.json, described["schema"], where)
        if media == "application/problem+json":
            self.check_problem(answer, where)

    def check_problem(self, answer, where):
        code = answer.json["code"]
        self.codes.add(code)
        assert answer.json["status"] == answer.status, f"{where}: {answer.text}"
        assert (code == "wait_timeout") == ("phase" in answer.json), f"{where}: {answer.text}"
        assert code != "invalid_field" or "field" in answer.json, f"{where}: {answer.text}"

    @staticmethod
    def validate(value, schema, where):
        for error in jsonschema.Draft4Validator(schema).iter_errors(value):
            raise AssertionError(f"{where}: {'/'.join(map(str, error.absolute_path))}: {error.message}")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode("utf-8")

    @property
    def json(self):
        def object_of(pairs):
            assert len(pairs) == len(dict(pairs)), f"a member stands twice: {pairs}"
            return dict(pairs)

        return json.loads(self.text, object_pairs_hook=object_of)


def forbidden(schema):
    """Values that the schema does not allow, of the kinds that a client might send."""
    schema = {**schema, **schema.get("allOf", schema.get("oneOf", [{}]))[0]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    values = [{}, True] + ([] if "null" in kinds else [None])
    if "integer" in kinds:
        beyond = schema["maximum"] + 1
        # What no int64_t holds is no JSON to the server; as a string of digits it is a number out of range.
        return values + ["x", 1.5, schema["minimum"] - 1, beyond if beyond < 2**63 else str(beyond)]
    return values + [7] + (["x" * (schema["maxLength"] + 1)] if "maxLength" in schema else ["yesterday"])
