-- +goose Up

-- Crawls that are asked for again and again: what a job is made of, and when. A
-- schedule has a cron expression, or an interval between bounds that follows what
-- changes. Durations are milliseconds. The turn grows with every job it made.
create table schedule (
    id         text primary key,
    tenant     text not null,
    name       text not null,
    cron       text not null,
    every      bigint not null,
    least      bigint not null,
    most       bigint not null,
    spec       bytea not null,
    max_pages  bigint not null,
    layers     jsonb not null,
    created_at bigint not null,
    due_at     bigint not null,
    paused_at  bigint,
    turn       bigint not null default 0,
    last       integer not null default 0,
    before     integer not null default 0,
    begun_at   bigint,
    measured   boolean not null default true,
    share      double precision not null default 0
);

create index schedule_tenant on schedule (tenant, id);
create index schedule_due on schedule (due_at) where paused_at is null;
create index schedule_fresh on schedule (id) where not measured;
