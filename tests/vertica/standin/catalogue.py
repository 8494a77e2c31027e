"""What a server knows of its own: users, schemas, tables, their columns, owners and privileges; and who may do what."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.vertica.standin.statements import Definition, Grant
from tests.vertica.standin.wire import ServerError
from tests.vertica.standin.words import PRIVILEGES

Grants = dict[str, set[str]]
"""Privileges by user."""
SUPERUSER = "dbadmin"
EVERYBODY = "public"


@dataclass(eq=False)
class Schema:
    """A schema."""

    name: str
    owner: str
    inherits: bool = False
    """Whether new tables inherit what is granted on it."""
    grants: Grants = field(default_factory=dict)


@dataclass(eq=False)
class Table:
    """A table: as it was declared, and where its records are."""

    schema: str
    definition: Definition
    owner: str
    inherits: bool
    number: int

    @property
    def name(self) -> str:
        return self.definition.name.rpartition(".")[2]

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def projection(self) -> str:
        return f"{self.name}_super"

    @property
    def stored(self) -> str:
        """The table of DuckDB's that has its records."""
        return f"stored.t{self.number}"


def missing_schema(name: str) -> ServerError:
    return ServerError(f'Schema "{name}" does not exist', "3F000", 4650)


def missing_table(name: str) -> ServerError:
    return ServerError(f'Relation "{name}" does not exist', "42V01", 4566)


def denied(what: str) -> ServerError:
    return ServerError(f"Permission denied for {what}", "42501", 4367)


class Catalogue:
    """All that is not temporary. Whoever uses it holds the server's guard."""

    def __init__(self, database: str, password: str) -> None:
        self.database = database.lower()
        self.users = {SUPERUSER: password}
        self.schemas = {EVERYBODY: Schema(EVERYBODY, SUPERUSER, grants={EVERYBODY: {"USAGE"}})}
        self.tables: dict[str, Table] = {}
        self.grants: Grants = {}
        """On the database."""
        self._numbers = itertools.count(1)

    # Names

    def schema(self, name: str) -> Schema:
        if name not in self.schemas:
            raise missing_schema(name)
        return self.schemas[name]

    def table(self, name: str) -> Table:
        """Return a table by its full name, or by that in the schema that everybody has."""
        schema, _, short = name.rpartition(".")
        self.schema(schema or EVERYBODY)
        found = self.tables.get(f"{schema or EVERYBODY}.{short}")
        if found is None:
            raise missing_table(name)
        return found

    def new_table(self, made: Definition, user: str) -> Table:
        """Return a table to be added; a temporary one is in no schema."""
        name = made.name.rpartition(".")
        if made.temporary:
            return Table("v_temp_schema", made, user, False, next(self._numbers))
        schema = self.schema(name[0] or EVERYBODY)
        return Table(schema.name, made, user, schema.inherits, next(self._numbers))

    def tables_of(self, schema: str) -> list[Table]:
        return [table for table in self.tables.values() if table.schema == schema]

    # Privileges

    def has(self, user: str, privilege: str, grants: Grants) -> bool:
        return privilege in grants.get(user, ()) or privilege in grants.get(EVERYBODY, ())

    def may(self, user: str, privilege: str, table: Table) -> bool:
        """Tell whether a user may do something with a table, as its owner or through its schema."""
        if user in (SUPERUSER, table.owner):
            return True
        return table.inherits and self.has(user, privilege, self.schemas[table.schema].grants)

    def need_usage(self, user: str, name: str) -> None:
        schema = self.schema(name)
        if user not in (SUPERUSER, schema.owner) and not self.has(user, "USAGE", schema.grants):
            raise denied(f"schema {name}")

    def need(self, user: str, privileges: Iterable[str], table: Table) -> None:
        """Refuse who has none of some privileges on a table, or may not use its schema."""
        self.need_usage(user, table.schema)
        if not any(self.may(user, privilege, table) for privilege in privileges):
            raise denied(f"relation {table.name}")

    def need_create(self, user: str, name: str) -> None:
        """Refuse who may not create a table in a schema."""
        schema = self.schema(name)
        if user not in (SUPERUSER, schema.owner) and not self.has(user, "CREATE", schema.grants):
            raise denied(f"schema {name}")

    def need_on_database(self, user: str, privilege: str) -> None:
        if user != SUPERUSER and not self.has(user, privilege, self.grants):
            raise denied(f"database {self.database}")

    def need_owner(self, user: str, owners: Iterable[str], what: str) -> None:
        if user != SUPERUSER and user not in owners:
            raise ServerError(f"Must be owner of {what}", "42501", 3989)

    def sees(self, user: str, table: Table) -> bool:
        """Tell whether the system tables show a table to a user: they do if there is anything to do with it."""
        return any(self.may(user, privilege, table) for privilege in PRIVILEGES["TABLE"])

    def sees_schema(self, user: str, schema: Schema) -> bool:
        return user in (SUPERUSER, schema.owner) or bool(schema.grants.get(user) or schema.grants.get(EVERYBODY))

    def grant(self, user: str, given: Grant) -> None:
        """Give privileges."""
        for name in given.users:
            if name not in self.users and name != EVERYBODY:
                raise ServerError(f'User "{name}" does not exist', "42704", 4643)
        unknown = set(given.privileges) - PRIVILEGES[given.kind]
        if unknown:
            raise ServerError(f'Invalid privilege "{min(unknown)}" for {given.kind.lower()}', "42601", 3698)
        for grants in self._granted(user, given):
            for name in given.users:
                grants.setdefault(name, set()).update(given.privileges)

    def _granted(self, user: str, given: Grant) -> list[Grants]:
        """Return what a user may grant on."""
        if given.kind == "DATABASE":
            if given.names != (self.database,):
                raise ServerError(f'Database "{given.names[0]}" does not exist', "3D000", 2983)
            self.need_owner(user, (), f"database {self.database}")
            return [self.grants]
        schemas = [self.schema(name) for name in given.names]
        for schema in schemas:
            self.need_owner(user, [schema.owner], f"schema {schema.name}")
        return [schema.grants for schema in schemas]
