-- +goose Up

-- The least interval in milliseconds between two requests to a host of a job, by
-- order of whoever it is of; 0 is what it was asked for with.
alter table job add column pace bigint not null default 0;

-- What an order is about that is neither job, host nor worker: a webhook, a
-- schedule, a key, a plan.
alter table control add column about text not null default '';

-- The orders of a tenant, and those to a host.
create index control_tenant on control (tenant, id) where tenant <> '';
create index control_host on control (host, id) where host <> '';
create index control_job on control (job, id) where job <> 0;
