package guard_test

import (
	"context"
	"errors"
	"fmt"

	"headway/fetch/guard"
)

func ExampleDialer_DialContext() {
	d, err := guard.New(guard.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = d.DialContext(context.Background(), "tcp", "169.254.169.254:80")
	fmt.Println(err)

	_, err = d.DialContext(context.Background(), "tcp", "example.com:22")
	fmt.Println(errors.Is(err, guard.ErrBadPort))
	// Output:
	// host "169.254.169.254" is blocked: 169.254.169.254 is link-local
	// true
}

func ExampleParseRange() {
	r, err := guard.ParseRange("127.0.0.0/8:8080,8443")
	fmt.Println(r.Prefix, r.Ports, err)
	// Output: 127.0.0.0/8 [8080 8443] <nil>
}
