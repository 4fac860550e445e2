-- +goose Up

-- A job is moved from the shared tables to its own when it has grown. Older programs would
-- not notice that, and write to the shared ones.
update format set oldest = 24;
