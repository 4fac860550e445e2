package extract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"headway/scope"
)

// Error is what is wrong with a rules file.
type Error struct {
	Name    string // of the file
	Line    int    // 0 if it is about the whole file
	Problem string
	hint    string
}

// Error names the file, the line and the problem.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Name + ": " + e.Problem
	}
	return fmt.Sprintf("%s:%d: %s", e.Name, e.Line, e.Problem)
}

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

const exampleRule = "write fields such as price: {css: .price, type: float}"

// Read reads a rules file. Errors are *[Error].
func Read(name string, text []byte) (*Rules, error) {
	r := reader{name: name}
	switch {
	case len(text) > MaxFile:
		return nil, r.fail(nil, fmt.Sprintf("keep it below %d bytes", MaxFile), "the file has more than %d bytes", MaxFile)
	case !utf8.Valid(text):
		return nil, r.fail(nil, "save it as UTF-8", "the file is not UTF-8 text")
	}
	top, err := r.document(text)
	if err != nil {
		return nil, err
	}
	rules := &Rules{text: string(text)}
	lines := map[string]int{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if line, ok := lines[key.Value]; ok {
			return nil, r.fail(key, "rename or remove one of the two", "field %s is already on line %d", quote(key.Value), line)
		}
		if len(rules.fields) == MaxRules {
			return nil, r.fail(key, "split the rules over several crawls", "more than %d fields", MaxRules)
		}
		lines[key.Value] = key.Line
		f, err := r.field(key, value)
		if err != nil {
			return nil, err
		}
		rules.fields = append(rules.fields, f)
		if _, ok := f.from.(path); ok {
			rules.linked = true
		}
	}
	return rules, nil
}

// ReadFile reads the rules file at a path. Errors are *[Error].
func ReadFile(path string) (*Rules, error) {
	r := reader{name: filepath.Base(path)}
	const hint = "give the path of a YAML file with extraction rules"
	f, err := os.Open(path)
	if err != nil {
		return nil, r.fail(nil, hint, "cannot read the rules: %v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, r.fail(nil, hint, "cannot read the rules: %v", err)
	}
	return Read(r.name, text)
}

// reader reads one file.
type reader struct{ name string }

func (r *reader) fail(at *yaml.Node, hint, format string, args ...any) error {
	e := &Error{Name: r.name, Problem: fmt.Sprintf(format, args...), hint: hint}
	if at != nil {
		e.Line = at.Line
	}
	return e
}

// yamlLine finds the line in an error of the YAML parser.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// document returns the mapping of fields.
func (r *reader) document(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) || err == nil && doc.Content[0].Tag == "!!null" {
		return nil, r.fail(nil, exampleRule, "the file has no fields")
	}
	if err != nil {
		e := &Error{Name: r.name, Problem: "invalid YAML: " + yamlLine.ReplaceAllString(err.Error(), ""), hint: "check indentation and colons; put values with : # { [ or quotes between single quotes"}
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
		}
		return nil, e
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, r.fail(top, exampleRule, "expected fields, each with a name")
	}
	if len(top.Content) == 0 {
		return nil, r.fail(nil, exampleRule, "the file has no fields")
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, r.fail(nil, "remove the line ---", "the file has more than one YAML document")
	}
	return top, nil
}

var validName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// keys are the keys of a field.
var keys = []string{"css", "xpath", "json-ld", "meta", "regex", "attribute", "all", "type", "when"}

// ruleReader reads the rule of one field.
type ruleReader struct {
	*reader
	name string
	f    field
	at   map[string]*yaml.Node // the values by key
}

func (r *reader) field(key, value *yaml.Node) (field, error) {
	if !validName.MatchString(key.Value) || len(key.Value) > maxName {
		return field{}, r.fail(key, fmt.Sprintf("use up to %d letters, digits, _ and -, starting with a letter", maxName), "invalid field name %s", quote(key.Value))
	}
	value = resolve(value)
	if value.Kind != yaml.MappingNode {
		return field{}, r.fail(value, "say where the value is, for example "+key.Value+": {css: h1}", "field %s has no rule", quote(key.Value))
	}
	x := ruleReader{reader: r, name: key.Value, f: field{name: key.Value}, at: map[string]*yaml.Node{}}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], resolve(value.Content[i+1])
		if !slices.Contains(keys, k.Value) {
			return field{}, r.fail(k, "the keys of a field are "+strings.Join(keys, ", "), "field %s: unknown key %s", quote(x.name), quote(k.Value))
		}
		if x.at[k.Value] != nil {
			return field{}, r.fail(k, "keep one of the two", "field %s: %s is given twice", quote(x.name), k.Value)
		}
		x.at[k.Value] = v
	}
	for _, read := range []func() error{func() error { return x.source(key) }, x.regex, x.attribute, x.flags, x.when} {
		if err := read(); err != nil {
			return field{}, err
		}
	}
	return x.f, nil
}

// resolve follows an alias to its anchor.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (x *ruleReader) bad(at *yaml.Node, hint, format string, args ...any) error {
	return x.fail(at, hint, "field %s: %s", quote(x.name), fmt.Sprintf(format, args...))
}

// text is the value of a key, "" if there is none.
func (x *ruleReader) text(key string) (string, error) {
	n := x.at[key]
	switch {
	case n == nil:
		return "", nil
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "":
		return "", x.bad(n, "give it one value between quotes", "%s has no value", key)
	case len(n.Value) > maxExpr:
		return "", x.bad(n, "shorten it", "%s has more than %d bytes", key, maxExpr)
	}
	return strings.TrimSpace(n.Value), nil
}

// sources compile the value of the key that says where the value is.
var sources = map[string]func(text string) (source, error){
	"css":     compileCSS,
	"xpath":   compileXPath,
	"json-ld": compilePath,
	"meta":    compileMeta,
}

// exprError is an invalid expression, with a hint.
type exprError struct{ problem, hint string }

func (e *exprError) Error() string { return e.problem }

func (x *ruleReader) source(field *yaml.Node) error {
	chosen := ""
	for _, key := range keys {
		n := x.at[key]
		if n == nil || sources[key] == nil {
			continue
		}
		if chosen != "" {
			return x.bad(n, "keep one; use two fields for two places", "%s and %s are both given", chosen, key)
		}
		chosen = key
		text, err := x.text(key)
		if err != nil {
			return err
		}
		if x.f.from, err = sources[key](text); err != nil {
			hint := ""
			if bad, ok := errors.AsType[*exprError](err); ok {
				hint = bad.hint
			}
			return x.bad(n, hint, "invalid %s %s: %v", key, quote(text), err)
		}
	}
	if chosen == "" {
		if x.at["regex"] == nil {
			return x.bad(field, "add one of css, xpath, json-ld, meta or regex", "it does not say where the value is")
		}
		x.f.from = wholePage{}
	}
	return nil
}

func (x *ruleReader) regex() error {
	text, err := x.text("regex")
	if err != nil || text == "" {
		return err
	}
	const hint = "use RE2 syntax; look-around and back-references are not supported"
	re, err := regexp.Compile(text)
	if err != nil {
		problem := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return x.bad(x.at["regex"], hint, "invalid regex %s: %s", quote(text), problem)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return x.bad(x.at["regex"], hint, "invalid regex %s: %v", quote(text), err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	switch {
	case err != nil:
		return x.bad(x.at["regex"], hint, "invalid regex %s: %v", quote(text), err)
	case len(prog.Inst) > maxProg:
		return x.bad(x.at["regex"], "use smaller repetitions, such as + instead of {1,1000}", "regex %s is too large", quote(text))
	case re.NumSubexp() > 1:
		return x.bad(x.at["regex"], "the value is the group, or the whole match without one; write (?:…) for the others", "regex %s has %d groups", quote(text), re.NumSubexp())
	case re.MatchString(""):
		return x.bad(x.at["regex"], "use + instead of *", "regex %s matches the empty text", quote(text))
	}
	x.f.regex, x.f.cost = re, 1+len(prog.Inst)
	return nil
}

func (x *ruleReader) attribute() error {
	text, err := x.text("attribute")
	if err != nil || text == "" {
		return err
	}
	if x.at["css"] == nil && x.at["xpath"] == nil {
		return x.bad(x.at["attribute"], "use it with css or xpath", "attribute needs an element")
	}
	if strings.ContainsAny(text, " \t\n\"'<>/=@") {
		return x.bad(x.at["attribute"], "give the name alone, for example href", "invalid attribute %s", quote(text))
	}
	x.f.attribute = strings.ToLower(text)
	return nil
}

func (x *ruleReader) flags() error {
	if n := x.at["all"]; n != nil {
		if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
			return x.bad(n, "true gives a list of all values, false the first value", "invalid all %s", quote(n.Value))
		}
		x.f.all = n.Value == "true"
	}
	text, err := x.text("type")
	if err != nil {
		return err
	}
	if text == "" {
		text = kindNames[0]
	}
	i := slices.Index(kindNames[:], text)
	if i < 0 {
		return x.bad(x.at["type"], "choose one of "+strings.Join(kindNames[:], ", "), "unknown type %s", quote(text))
	}
	x.f.kind = kind(i)
	return nil
}

func (x *ruleReader) when() error {
	n := x.at["when"]
	if n == nil {
		return nil
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	if len(list) == 0 || len(list) > maxWhen {
		return x.bad(n, fmt.Sprintf("give one to %d URL patterns, or leave it out for all pages", maxWhen), "when has %d patterns", len(list))
	}
	for _, n := range list {
		n = resolve(n)
		if n.Kind != yaml.ScalarNode {
			return x.bad(n, "give a URL pattern or a list of them, for example /products/**", "when is not a pattern")
		}
		p, err := scope.CompilePattern("when", n.Value)
		if err != nil {
			hint := ""
			if bad, ok := errors.AsType[*scope.PatternError](err); ok {
				hint = bad.Hint()
			}
			return x.bad(n, hint, "%v", err)
		}
		x.f.when = append(x.f.when, p)
	}
	return nil
}

// maxQuoted limits how much of an invalid value an error repeats.
const maxQuoted = 80

func quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strconv.Quote(s)
}
