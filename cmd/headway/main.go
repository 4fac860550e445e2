// Command headway is a polite web crawler. See headway help.
package main

import (
	"os"

	"headway/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
