-- +goose Up

-- Requests of jobs with a request limit: sent, or reserved by a worker that may send them.
create table request_use (
    job  integer primary key,
    used bigint not null check (used >= 0)
) with (fillfactor = 50);
