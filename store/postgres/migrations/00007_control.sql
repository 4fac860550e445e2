-- +goose Up

-- What people ordered, who they are, and what it changed. Rows are only added. A
-- tenant, job, host or worker that an order is not about is empty or 0.
create table control (
    id     bigint generated always as identity primary key,
    at     bigint not null,
    who    text not null,
    what   text not null,
    tenant text not null,
    job    integer not null,
    host   text not null,
    worker bigint not null,
    before text not null,
    after  text not null
);

-- Since when a slot has its owner, by the owner's clock; 0 is not known. It is for
-- people: nothing is decided by it.
alter table slot add column since bigint not null default 0;
