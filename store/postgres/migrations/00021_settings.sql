-- +goose Up

-- The settings of the fleet: safety limits by the names of package limit, lease and commit
-- gap in milliseconds. Rows are only added; the newest applies. A database that already has
-- jobs gets none, and nothing is admitted until an operator has set them.
create table fleet_settings (
    version    bigint primary key check (version > 0),
    at         bigint not null,
    who        text not null,
    safety     jsonb not null,
    lease      bigint not null,
    commit_gap bigint not null
);

insert into fleet_settings (version, at, who, safety, lease, commit_gap)
    select 1, 0, 'new database', '{"max_pages": 50, "max_time_ms": 60000, "max_concurrent_crawls": 1}', 30000, 100
    where not exists (select from job);

-- The version whose safety limits a job has, and how long it ran before it last started, in
-- milliseconds.
alter table job add column settings bigint not null default 0;
alter table job add column ran bigint not null default 0;

update job set ran = greatest(coalesce(ended_at, nullif(changed_at, 0), started_at) - started_at, 0)
    where started_at is not null and state not in ('queued', 'running');

-- Running time is counted here, so that it is counted whichever version of the program
-- changes the job.
-- +goose StatementBegin
create function count_ran() returns trigger language plpgsql set search_path from current as $$
begin
    new.ran := old.ran + greatest(coalesce(new.ended_at, new.changed_at) - old.started_at, 0);
    return new;
end $$;
-- +goose StatementEnd

create trigger job_ran before update of state on job for each row
    when (old.state = 'running' and new.state <> 'running' and old.started_at is not null) execute function count_ran();

-- A job starts only under the newest settings. A program that does not know them would
-- admit it with limits of its own.
-- +goose StatementBegin
create function check_admission() returns trigger language plpgsql set search_path from current as $$
begin
    if new.settings is distinct from (select max(version) from fleet_settings) then
        raise exception 'job % was not admitted under the settings of the fleet: upgrade this program', new.id;
    end if;
    return new;
end $$;
-- +goose StatementEnd

create trigger job_admitted before update of state on job for each row
    when (old.state = 'queued' and new.state = 'running') execute function check_admission();

-- +goose StatementBegin
create function leave_settings() returns trigger language plpgsql set search_path from current as $$
begin
    new.settings := 0;
    return new;
end $$;
-- +goose StatementEnd

create trigger job_requeued before update of state on job for each row
    when (old.state <> 'queued' and new.state = 'queued') execute function leave_settings();

-- A page limit may be lowered below what was used.
alter table account drop constraint if exists account_free_check;

-- The format that a worker's program knows; 0 before this one. How long after its last
-- heartbeat it may be declared dead, in milliseconds; 0 is as long as the watcher's own lease.
alter table worker add column format bigint not null default 0;
alter table worker add column lease bigint not null default 0;

-- Older programs do not know these settings.
update format set oldest = 21;
