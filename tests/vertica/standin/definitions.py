"""Statements that define things: schemas, tables, users, privileges. All but temporary tables commit what was open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.vertica.standin.catalogue import EVERYBODY, Schema, Table, missing_schema, missing_table
from tests.vertica.standin.statements import Definition, Grant, Names, Statement
from tests.vertica.standin.wire import ServerError

if TYPE_CHECKING:
    from tests.vertica.standin.session import Session


class Definitions:
    """What one session defines."""

    def __init__(self, session: Session) -> None:
        self._session, self._server = session, session.server
        self._catalogue, self._guard = session.server.catalogue, session.server.guard

    def run(self, statement: Statement) -> None:
        """Run a statement."""
        detail = statement.detail
        if isinstance(detail, Definition) and detail.temporary:
            self._create_temporary(detail)
            return
        self._session.finish(commit=True)
        if isinstance(detail, Definition):
            self._create_table(detail)
        elif isinstance(detail, Grant):
            with self._guard:
                self._catalogue.grant(self._session.user, detail)
        else:
            assert isinstance(detail, Names)
            run = {
                "CREATE SCHEMA": self._create_schema,
                "ALTER": self._alter_schema,
                "CREATE USER": self._create_user,
                "DROP TABLE": self._drop_tables,
                "DROP SCHEMA": self._drop_schemas,
            }[statement.kind]
            run(detail)
        self._session.finish(commit=True)

    # Tables

    def _create_temporary(self, made: Definition) -> None:
        """Create a table of the session, inside the open transaction: whether ROLLBACK drops it is not documented."""
        session = self._session
        with self._guard:
            if not self._catalogue.has(session.user, "CREATE", self._catalogue.grants):
                self._catalogue.need_on_database(session.user, "TEMP")
            table = self._catalogue.new_table(made, session.user)
        if table.name in session.temporary:
            self._is_there(made)
            return
        session.records.create(table)
        session.temporary[table.name] = table
        session.made.append(table)
        session.is_open = True

    def _create_table(self, made: Definition) -> None:
        with self._guard:
            schema = made.name.rpartition(".")[0] or EVERYBODY
            self._catalogue.need_create(self._session.user, schema)
            table = self._catalogue.new_table(made, self._session.user)
            if table.full_name in self._catalogue.tables:
                self._is_there(made)
                return
            self._session.records.create(table)
            self._catalogue.tables[table.full_name] = table

    def _is_there(self, made: Definition) -> None:
        if not made.unless_there:
            raise ServerError(f'Object "{made.name}" already exists', "42710", 4213, "ROLLBACK")
        self._session.notice(f'Object "{made.name}" already exists; nothing was done', 4214)

    def _drop_tables(self, given: Names) -> None:
        session = self._session
        for name in given.names:
            if name in session.temporary:
                session.records.drop(session.temporary.pop(name))
                continue
            with self._guard:
                table = self._catalogue.tables.get(name if "." in name else f"{EVERYBODY}.{name}")
            if table is not None:
                self._drop(table)
            elif given.unless:
                session.notice(f'Nothing was dropped: relation "{name}" does not exist', 4185)
            else:
                raise missing_table(name)

    def _drop(self, table: Table) -> None:
        with self._guard:
            owners = [table.owner, self._catalogue.schemas[table.schema].owner]
            self._catalogue.need_owner(self._session.user, owners, f"relation {table.name}")
        self._session.take_lock(table, "X")
        with self._guard:
            if self._catalogue.tables.pop(table.full_name, None) is not None:
                self._session.records.drop(table)

    # Schemas

    def _create_schema(self, given: Names) -> None:
        [name] = given.names
        with self._guard:
            self._catalogue.need_on_database(self._session.user, "CREATE")
            if name not in self._catalogue.schemas:
                self._catalogue.schemas[name] = Schema(name, self._session.user, given.word == "INCLUDE")
            elif not given.unless:
                raise ServerError(f'Schema "{name}" already exists', "42P06", 4213, "ROLLBACK")

    def _alter_schema(self, given: Names) -> None:
        with self._guard:
            schema = self._catalogue.schema(given.names[0])
            self._catalogue.need_owner(self._session.user, [schema.owner], f"schema {schema.name}")
            schema.inherits = given.word == "INCLUDE"

    def _drop_schemas(self, given: Names) -> None:
        for name in given.names:
            with self._guard:
                schema, tables = self._catalogue.schemas.get(name), self._catalogue.tables_of(name)
                if schema is None and given.unless:
                    continue
                if schema is None:
                    raise missing_schema(name)
                self._catalogue.need_owner(self._session.user, [schema.owner], f"schema {name}")
            if tables and not given.word:
                raise ServerError(f"Cannot drop Schema {name} because other objects depend on it", "2BP01", 3128)
            for table in tables:
                self._drop(table)
            with self._guard:
                self._catalogue.schemas.pop(name, None)

    # Users

    def _create_user(self, given: Names) -> None:
        with self._guard:
            self._catalogue.need_owner(self._session.user, (), "the database")
            self._catalogue.users[given.names[0]] = given.word
