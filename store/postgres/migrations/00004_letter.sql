-- +goose Up

-- Questions and orders to the owner of a slot, or to all workers, and their
-- answers. Both live for a minute.
create table letter (
    id   bigint generated always as identity primary key,
    at   bigint not null,
    slot smallint,
    body bytea not null
);

create table reply (
    letter bigint not null references letter on delete cascade,
    worker bigint not null,
    at     bigint not null,
    body   bytea not null,
    primary key (letter, worker)
);
