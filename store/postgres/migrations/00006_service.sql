-- +goose Up

-- Keys to the API. Only the digest of a key is kept: who reads this table can
-- use none of them.
create table api_key (
    id         text primary key,
    tenant     text not null,
    name       text not null,
    scope      text not null,
    sum        bytea not null check (length(sum) = 32),
    created_at bigint not null,
    expires_at bigint,
    used_at    bigint,
    revoked_at bigint
);

create index api_key_tenant on api_key (tenant, id);

-- What happened, as it is told to those who ask. A row is written with the
-- change that it tells of and gets its number after that was committed, one
-- numbering at a time: whoever has seen a number has missed none below it.
create sequence event_number;

create table event (
    id     bigint generated always as identity primary key,
    number bigint unique,
    at     bigint not null,
    tenant text not null,
    job    integer not null,
    kind   text not null,
    body   text not null
);

create index event_fresh on event (id) where number is null;
create index event_tenant on event (tenant, number);
create index event_job on event (job, number);

-- When a job was last changed, by the clock of whoever did.
alter table job add column changed_at bigint not null default 0;

-- Whoever changes a job tells of it, be it an older version of the program: the
-- table sees to it. The times of a job's events never go back.
-- +goose StatementBegin
create function tell_job() returns trigger language plpgsql set search_path from current as $$
begin
    insert into event (at, tenant, job, kind, body) values (
        greatest(new.created_at, new.started_at, new.ended_at, new.changed_at), new.tenant, new.id,
        case when tg_op = 'INSERT' then 'job.created' when new.state = old.state then 'job.extended' else 'job.' || new.state end,
        jsonb_strip_nulls(jsonb_build_object('state', new.state, 'was', case when tg_op = 'UPDATE' then old.state end,
            'reason', nullif(new.reason, ''), 'name', new.name, 'max_pages', nullif(new.max_pages, 0)))::text);
    return null;
end $$;
-- +goose StatementEnd

create trigger job_created after insert on job for each row execute function tell_job();
create trigger job_changed after update of state, max_pages on job for each row
    when (old.state <> new.state or old.max_pages <> new.max_pages) execute function tell_job();

-- What was answered to a request that may be sent again, by the key its sender
-- gave it.
create table submission (
    tenant text not null,
    key    text not null,
    at     bigint not null,
    sum    bytea not null check (length(sum) = 32),
    answer bytea not null,
    primary key (tenant, key)
);

create index submission_at on submission (at);
