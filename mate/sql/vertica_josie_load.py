"""The JOSIE index in Vertica: tasks load which token is in which column, and the server makes the index of it.

Nothing of the corpus passes through the driver. Each step ends its transaction, so that none is longer than one
statement; whatever a step leaves behind when it fails belongs to a generation that was not published, and goes with it.
"""

from __future__ import annotations

from mate.errors import StoreError
from mate.sql import vertica_josie_sql as sql
from mate.sql.vertica_address import Password, VerticaAddress
from mate.sql.vertica_load import Loader
from mate.sql.vertica_session import Session
from mate.sql.vertica_sql import Generation


def member_loader(session: Session, address: VerticaAddress, password: Password, generation: Generation) -> Loader:
    """Create the stage, and return the function that loads a unit into it, exactly once like the rest of the index."""
    for statement in sql.create_stage(generation):
        session.execute(statement)
    return Loader(address, password, generation, (), "", sql.LOG)


def make_index(session: Session, generation: Generation, units: int) -> None:
    """Make the JOSIE index from the stage, and check that it is sound."""
    [[logged]] = session.execute(generation.count(sql.LOG))
    if logged != units:
        raise StoreError(f"the table {sql.LOG} has {logged:,} records where {units:,} were staged")
    for statement in sql.create(generation):
        session.execute(statement)
    for statement in sql.steps(generation):
        session.execute(statement)
        session.commit()
    for what, check in sql.checks(generation).items():
        [[wrong]] = session.execute(check)
        if wrong:
            raise StoreError(f"the JOSIE index is not sound: {what} is wrong in {wrong:,} places; please report this")
    for statement in sql.drop(generation, sql.WORK):
        session.execute(statement)
    for name in sql.TABLES:
        session.execute(generation.analyze(name))
