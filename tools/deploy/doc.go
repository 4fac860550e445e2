// Package deploy holds the files of the folder deploy against the program they run
// and against the tools that will read them. It holds only tests, and is a module of
// its own: what it needs must not reach the program.
//
// Nothing here has a systemd, a Docker or a cluster to run on. So each file is read by
// the very code that will read it there (systemd-analyze, BuildKit's frontend and
// linter, the library of Docker Compose, the types of Kubernetes), and every command
// line of headway in them is run with the binary that the Dockerfile builds, under the
// environment it has there, up to the point where it wants its database.
package deploy
