package command

import (
	"fmt"
	"runtime"
)

// Product is the name by which Headway looks for its group in robots.txt.
const Product = "headway"

// version is set by the build (-ldflags -X).
var version = "devel"

// Version is the version of this program: a tag, or the commit it was built from.
func Version() string { return version }

// VersionLine names what was built, with what, for what.
func VersionLine() string {
	return fmt.Sprintf("headway %s (%s, %s/%s)", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
