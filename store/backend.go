package store

import "time"

// DiskTimes is an optional interface of stores that run in this process and keep their data
// on a disk.
type DiskTimes interface {
	// DiskTime returns how long changes have waited for the disk in total, up to now, and how
	// many have. The rest of their time is computing in this process.
	DiskTime() (total time.Duration, changes int64)
}

// Database is an optional interface of stores that keep their data in a database server: all
// the time of a call is spent waiting for it.
type Database interface {
	IsDatabase()
}
