-- +goose Up

-- The oldest program that may work on these tables, by the last migration it knows.
-- A migration after which older programs would do wrong raises it; one that only adds
-- leaves it alone.
create table format (
    id     smallint primary key check (id = 1),
    oldest bigint not null
);

insert into format (id, oldest) values (1, 11);
