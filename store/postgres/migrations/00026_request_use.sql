-- +goose Up

-- What jobs with a request or byte limit have used: requests that were sent, or reserved by a
-- worker that may send them, and bytes received.
create table request_use (
    job   integer primary key,
    used  bigint not null check (used >= 0),
    bytes bigint not null check (bytes >= 0)
) with (fillfactor = 50);
