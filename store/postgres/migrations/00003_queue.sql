-- +goose Up

-- The queue of jobs. One sequence numbers both when jobs were queued and when
-- tenants were served; who has waited longest since either is next.
create sequence turn;

alter table job add column turn bigint not null default 0;

update job set turn = id where state = 'queued';
select setval('turn', (select coalesce(max(id), 0) + 1 from job));

-- The last turn of tenants that have queued jobs.
create table served (
    tenant text primary key,
    turn   bigint not null
);

-- Jobs that have not ended are few among those that have.
create index job_live on job (state, id) where state in ('queued', 'running', 'paused', 'draining');
create index job_queued on job (tenant, turn) where state = 'queued';
