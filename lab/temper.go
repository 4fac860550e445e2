package lab

import (
	"headway/lab/temper"
)

// Temper is a character of a host: what it holds and how it treats requests.
type Temper struct {
	Name  string // of one in the table; "" for one of your own
	About string // a line for people
	Site  Site
	Rules temper.Rules
	Cert  Cert // what its certificate is, if it serves https on its own
}

// Plain is the temper of a fast host with clean links.
func Plain() Temper {
	return Temper{Name: "plain", About: "fast, clean links, a few forbidden paths", Site: DefaultSite()}
}

// Mixed asks for the default lab.
func Mixed() []HostSpec { return Uniform(1, Plain()) }
