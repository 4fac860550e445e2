package lab

import "net/http"

// redirectExhibits redirect to forbidden targets, or nowhere.
var redirectExhibits = []Exhibit{
	redirectExhibit("private", "to a private address", http.StatusFound, "http://10.0.0.1/"),
	redirectExhibit("metadata", "to a cloud metadata address", http.StatusFound, "http://169.254.169.254/latest/meta-data/"),
	redirectExhibit("loopback", "to a port of this machine that is not a web server", http.StatusMovedPermanently, "http://127.0.0.1:22/"),
	redirectExhibit("mapped", "to a private address written as IPv6", http.StatusFound, "http://[::ffff:10.0.0.1]/"),
	redirectExhibit("number", "to 127.0.0.1 written as a single integer", http.StatusFound, "http://2130706433/"),
	redirectExhibit("localhost", "to a name of this machine", http.StatusTemporaryRedirect, "http://localhost:22/"),
	redirectExhibit("file", "to a file", http.StatusFound, "file:///etc/passwd"),
	redirectExhibit("script", "to a script", http.StatusFound, "javascript:alert(1)"),
	redirectExhibit("self", "to itself", http.StatusPermanentRedirect, "/exhibit/redirect/self"),
	redirectExhibit("userinfo", "to a private address disguised by userinfo", http.StatusSeeOther, "http://www.example.com@10.0.0.1/"),
	redirectExhibit("header", "to a URL with a line break in it", http.StatusFound, "/%0d%0aX-Injected:%20yes"),
	{Path: "/exhibit/redirect/nowhere", About: "without a Location header", serve: func(x *exchange) { x.WriteHeader(http.StatusFound) }},
	{Path: "/exhibit/redirect/meta", About: "a page whose meta refresh points to a private address", serve: func(x *exchange) {
		x.page200(htmlType, "<meta http-equiv=refresh content=\"0;url=http://10.0.0.1/\"><p>wait")
	}},
}

func redirectExhibit(name, about string, status int, location string) Exhibit {
	return Exhibit{Path: "/exhibit/redirect/" + name, About: about, serve: func(x *exchange) { x.redirect(status, location) }}
}
