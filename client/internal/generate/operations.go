package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// operations writes a method for each operation.
func operations(d *document) (string, error) {
	var b strings.Builder
	b.WriteString("import (\n\"context\"\n\"fmt\"\n\"io\"\n\"iter\"\n\"net/url\"\n)\n")
	for _, o := range d.operations() {
		for _, write := range []func(*strings.Builder, *document, *operation) error{params, method, every} {
			if err := write(&b, d, &o); err != nil {
				return "", fmt.Errorf("%s: %w", o.ID, err)
			}
		}
	}
	return b.String(), nil
}

// params writes the type of the parameters of an operation, except its path and
// body.
func params(b *strings.Builder, _ *document, o *operation) error {
	list := o.in("query", "header")
	if len(list) == 0 {
		return nil
	}
	name := goName(o.ID)
	b.WriteString("\n")
	comment(b, "", fmt.Sprintf("%sParams are the parameters of [Client.%s]. Zero values are not sent.", name, name))
	fmt.Fprintf(b, "type %sParams struct {\n", name)
	for _, p := range list {
		kind, err := p.Schema.goType()
		if err != nil {
			return err
		}
		comment(b, "\t", strings.TrimSpace(p.Description+" "+enum(p.Schema.Enum)))
		fmt.Fprintf(b, "\t%s %s\n", goName(p.Name), kind)
	}
	b.WriteString("}\n")
	return nil
}

// signature is the parameters of a method, with types and without.
func signature(o *operation) (typed, names []string, err error) {
	typed, names = []string{"ctx context.Context"}, []string{"ctx"}
	add := func(name, kind string) {
		typed, names = append(typed, name+" "+kind), append(names, name)
	}
	for _, p := range o.in("path") {
		kind, err := p.Schema.goType()
		if err != nil {
			return nil, nil, err
		}
		add(p.Name, kind)
	}
	if s := o.body(); s != nil {
		add("body", s.name())
	}
	if len(o.in("query", "header")) > 0 {
		add("params", goName(o.ID)+"Params")
	}
	return typed, names, nil
}

// method writes the method of an operation.
func method(b *strings.Builder, _ *document, o *operation) error {
	typed, _, err := signature(o)
	if err != nil {
		return err
	}
	media, good := o.good()
	var kind, result string
	switch media {
	case "":
		kind, result = "error", "c.carryOut(ctx, r)"
	case "application/json":
		kind, result = "(*"+good.name()+", error)", "answer["+good.name()+"](ctx, c, r)"
	case "application/x-ndjson", "application/octet-stream", "text/html", severalTypes:
		kind, result = "(io.ReadCloser, error)", "c.stream(ctx, r)"
	case "text/event-stream":
		kind, result = "iter.Seq2["+good.Data.name()+", error]", "follow["+good.Data.name()+"](ctx, c, r)"
	default:
		return fmt.Errorf("an answer of the type %s", media)
	}
	name := goName(o.ID)
	b.WriteString("\n")
	comment(b, "", fmt.Sprintf("%s is %s %s.%s", name, o.method, o.path, scopeOf(o)), strings.TrimSpace(o.Summary+". "+o.Description))
	fmt.Fprintf(b, "func (c *Client) %s(%s) %s {\n", name, strings.Join(typed, ", "), kind)
	if err := build(b, o); err != nil {
		return err
	}
	fmt.Fprintf(b, "\treturn %s\n}\n", result)
	return nil
}

// scopeOf is the key scope that an operation needs.
func scopeOf(o *operation) string {
	for _, s := range o.Security {
		if scopes := s["key"]; len(scopes) == 1 {
			return " It needs a key with scope " + scopes[0] + "."
		}
	}
	return ""
}

// build writes the code that makes the request.
func build(b *strings.Builder, o *operation) error {
	path, args := o.path, ""
	for _, p := range o.in("path") {
		verb, arg := "%d", p.Name
		if p.Schema.Type == "string" {
			verb, arg = "%s", "url.PathEscape("+p.Name+")"
		}
		path, args = strings.Replace(path, "{"+p.Name+"}", verb, 1), args+", "+arg
	}
	text := fmt.Sprintf("%q", path)
	if args != "" {
		text = "fmt.Sprintf(" + text + args + ")"
	}
	body := ""
	if o.body() != nil {
		body = ", body: body"
	}
	fmt.Fprintf(b, "\tr := request{method: %q, path: %s%s}\n", o.method, text, body)
	for _, p := range o.in("query", "header") {
		var call string
		switch {
		case p.Name == "Idempotency-Key" && o.method == http.MethodPost:
			call = "once("
		case p.In == "header":
			call = fmt.Sprintf("head(%q, ", p.Name)
		case p.Schema.Type == "integer":
			call = fmt.Sprintf("number(%q, ", p.Name)
		case p.Schema.Type == "string":
			call = fmt.Sprintf("text(%q, ", p.Name)
		default:
			return fmt.Errorf("a parameter of the type %s", p.Schema.Type)
		}
		fmt.Fprintf(b, "\tr.%sparams.%s)\n", call, goName(p.Name))
	}
	return nil
}

// every writes an iterator over all pages of a list: one whose response says where the
// next page starts.
func every(b *strings.Builder, d *document, o *operation) error {
	media, good := o.good()
	if media != "application/json" || good.Ref == "" {
		return nil
	}
	page := d.Components.Schemas[good.name()]
	place, next := "", ""
	for _, way := range [][2]string{{"cursor", "next_cursor"}, {"after", "last"}} {
		if slices.ContainsFunc(o.Parameters, func(p parameter) bool { return p.Name == way[0] }) && page.Properties[way[1]] != nil {
			place, next = way[0], way[1]
		}
	}
	if place == "" {
		return nil
	}
	items, kind := "", ""
	for key, s := range page.Properties {
		if s.Type != "array" {
			continue
		}
		if items != "" {
			return fmt.Errorf("a page of both %s and %s", items, goName(key))
		}
		items, kind = goName(key), s.Items.name()
	}
	typed, names, err := signature(o)
	if err != nil {
		return err
	}
	typeOfPlace, err := page.Properties[next].goType()
	if err != nil {
		return err
	}
	name := goName(o.ID)
	all := "All" + strings.TrimPrefix(name, "List")
	b.WriteString("\n")
	comment(b, "", fmt.Sprintf("%s iterates over all pages of [Client.%s]. It stops after the first error.", all, name))
	fmt.Fprintf(b, "func (c *Client) %s(%s) iter.Seq2[%s, error] {\n", all, strings.Join(typed, ", "), kind)
	fmt.Fprintf(b, "\treturn pages(params.%s, func(place %s) ([]%s, %s, error) {\n", goName(place), typeOfPlace, kind, typeOfPlace)
	fmt.Fprintf(b, "\t\tparams.%s = place\n\t\tpage, err := c.%s(%s)\n", goName(place), name, strings.Join(names, ", "))
	end := "err != nil"
	if next == "last" {
		end += fmt.Sprintf(" || len(page.%s) == 0", items)
	}
	fmt.Fprintf(b, "\t\tif %s {\n\t\t\treturn nil, place, err\n\t\t}\n", end)
	fmt.Fprintf(b, "\t\treturn page.%s, page.%s, nil\n\t})\n}\n", items, goName(next))
	return nil
}
