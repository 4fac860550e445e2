package weburl

import (
	"errors"
	"strings"
	"testing"
)

func TestErrorText(t *testing.T) {
	base := mustParse(t, "https://site.test/docs/")
	tests := []struct {
		name, raw string
		base      URL
		code      Code
		want      string
	}{
		{"relative", "a/b", URL{}, NoBase, `invalid URL "a/b": relative URL without a base URL`},
		{"scheme", "mailto:ann@site.test", base, BadScheme, `invalid URL "mailto:…@site.test": scheme mailto is not http or https`},
		{"no host", "https:///", URL{}, BadHost, `invalid URL "https:///": missing host`},
		{"blank host", "https://a b/", URL{}, BadHost, `invalid URL "https://a b/": the host contains a forbidden character`},
		{"empty label", "https://a..b/", URL{}, BadHost, `invalid URL "https://a..b/": the host has an empty label`},
		{"address", "http://1.2.3.400/", URL{}, BadHost, `invalid URL "http://1.2.3.400/": the host ends in a number and is not a valid IPv4 address`},
		{"IPv6", "http://[::1/", URL{}, BadHost, `invalid URL "http://[::1/": the host is not a valid IPv6 address`},
		{"port text", "https://a:b/", URL{}, BadPort, `invalid URL "https://a:b/": the port is not a number`},
		{"port range", "https://a:65536/", URL{}, BadPort, `invalid URL "https://a:65536/": the port is above 65535`},
		{"newline", "https://a\x01b/", URL{}, BadHost, `invalid URL "https://a\x01b/": the host contains a forbidden character`},
		{
			"long", "https://a/" + strings.Repeat("b", MaxLength),
			URL{},
			TooLong,
			`invalid URL "https://a/` + strings.Repeat("b", maxQuoted-len("https://a/")) + `…": longer than 4096 bytes when normalised`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.base.Resolve(tt.raw)
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code != tt.code || e.Error() != tt.want {
				t.Errorf("got %v, want %s: %s", err, tt.code, tt.want)
			}
		})
	}
}

// TestErrorHidesCredentials parses broken links with a password, as people and scripts
// write them, and checks that the error does not contain it.
func TestErrorHidesCredentials(t *testing.T) {
	for _, raw := range []string{
		"https://ann:secret@/",
		"https://ann:secret@site..test/",
		"https://ann:secret@site.test:port/",
		"https://ann:secret/with@site.test/",
		"https://ann:sec?secret@site..test/",
		"https://secret@ann@site..test/",
		"https:ann:secret@site..test/",
		`https:\\ann:secret@site..test/`,
		"ht\ntps:/\t/ann:secret@site..test/",
		"ftp://ann:secret@site.test/",
		"view-source:https://ann:secret@site.test/",
		"blob:https://ann:secret@site.test/1",
		"//ann:secret@site.test/",
		"https://ann:secret" + strings.Repeat("x", 2*maxQuoted) + "@site..test/",
		"https://ann:secret" + strings.Repeat("x", 2*maxInput) + "@site.test/",
		"ftp://ann:secret" + strings.Repeat("x", 2*maxInput) + "@site.test/",
	} {
		_, err := Parse(raw)
		if err == nil {
			t.Errorf("%.60q is accepted", raw)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %.200s", err)
		}
	}
}

func TestInputBound(t *testing.T) {
	long := strings.Repeat("a", 3*maxInput)
	tests := []struct {
		name, raw string
		code      Code // "" for a valid link
	}{
		{"long path", "https://site.test/" + long, TooLong},
		{"long relative", long, TooLong},
		{"long fragment", "https://site.test/#" + long, ""},
		{"long blanks", "https://site.test/" + strings.Repeat(" ", maxInput), ""},
		{"embedded image", "data:image/png;base64," + long, BadScheme},
		{"wrapped embedded image", "da\nta:image/png;base64," + long, BadScheme},
		{"all escapes", "https://site.test/" + strings.Repeat("%61", MaxLength-18), ""},
		{"all escapes, one more", "https://site.test/" + strings.Repeat("%61", MaxLength-17), TooLong},
		{"exactly as long", "https://site.test/" + strings.Repeat("a", MaxLength-18), ""},
		{"one longer", "https://site.test/" + strings.Repeat("a", MaxLength-17), TooLong},
		{"dots that resolve to little", "https://site.test/" + strings.Repeat("x/../", maxInput/5), TooLong},
		{"the same, relative", strings.Repeat("x/../", maxInput/4), TooLong},
		{"dots within the bound", "https://site.test/" + strings.Repeat("x/../", maxInput/6), ""},
		{"host of ignored characters", "https://a" + strings.Repeat("\u00ad", maxHostText) + "/", BadHost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := mustParse(t, "https://site.test/").Resolve(tt.raw)
			e, _ := errors.AsType[*Error](err)
			switch {
			case tt.code == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.code == "":
				checkURL(t, u)
			case e == nil || e.Code != tt.code:
				t.Errorf("got %.60q, %v; want %s", u, err, tt.code)
			}
		})
	}
}
