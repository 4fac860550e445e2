-- +goose Up

-- The job whose pages are requested only if they have changed since; 0 for none. The index
-- finds those that must not be dropped yet.
alter table job add column since integer not null default 0;
create index job_since on job (since) where ended_at is null;
