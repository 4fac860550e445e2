// Command openapi writes the OpenAPI document of the service and the page of its problem
// types. It runs through go generate; make verify fails when its output is out of date.
package main

import (
	"fmt"
	"os"

	"headway/service/internal/api"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: openapi DOCUMENT PROBLEMS")
		os.Exit(2)
	}
	text, err := api.New(api.Config{}).Document()
	if err == nil {
		err = os.WriteFile(os.Args[1], text, 0o644)
	}
	if err == nil {
		err = os.WriteFile(os.Args[2], api.ProblemsPage(), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}
