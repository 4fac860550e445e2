// Package fleet has the commands of a fleet: worker, serve, job and admin.
package fleet
