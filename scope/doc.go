// Package scope decides which discovered URLs belong to a crawl, and names the
// rule that said so.
//
// It is the second stop of the journey: whoever finds a link asks here before
// the link goes anywhere else, so that a URL out of scope is counted once and
// never sent to another owner. [Rules] holds what the person asked for: hosts,
// patterns, depth. [Traps] recognises URL spaces without end by the look of
// their URLs, [Duplicates] by the sameness of the pages behind them.
//
// It promises that the same calls give the same decisions, that a decision
// costs time linear in the URL whatever the patterns are, and that everything
// it remembers is bounded by named constants. A refusal carries a reason
// spelled as in the closed set of outcomes, and a sentence for people.
//
// It refuses to look anything up, to fetch, to keep a clock and to know which
// URLs were seen before: these belong to its callers.
//
// # Modes
//
//   - [Host], the default: the hosts of the seeds. http and https are one, and
//     so are example.com and www.example.com unless different people own them
//     (www.github.io is somebody's page). The ports 80 and 443 are one; any
//     other port is a host of its own.
//   - [Domain]: every host of the registrable domains of the seeds.
//   - [Prefix]: the host of a seed, as in Host, and its path up to the last slash.
//   - [List]: the hosts of the seeds and of Config.Hosts to the letter; www is
//     another host.
//   - [Any]: every host.
//
// # Patterns
//
// Config.Include and Config.Exclude take globs, and regular expressions behind
// "re:". A glob must match all of what it is held against, which follows from
// how it begins:
//
//   - "/docs/**" or "**/print/**" begins with a slash or with "**": the path;
//   - "https://*.example.com/**" names a scheme: the whole URL;
//   - "*.pdf" has no slash: the last segment of the path.
//
// "*" stands for any run of characters without a slash, "**" for any run at
// all, "?" for one character that is no slash, and "\" takes the meaning from
// what follows it. A glob that has a "?" in it is held against path and query,
// one without against the path alone: "/cart" also means /cart?add=7, and
// "/search?q=*" means what it looks like. Letters match in their own case, and
// characters outside ASCII may be written as they are or escaped.
//
// "re:" takes RE2 syntax and looks for a match anywhere in the whole canonical
// URL, query included.
//
// Exclude is stronger than Include. With any Include, a URL must match one of
// them; seeds and what they redirect to need not ([Rules.DecideSeed]).
//
// # What is no page
//
// A link to an image, a font, an archive or a film is no page and would eat
// the budget of pages, so links whose path ends like one are refused with
// [NonDocument]. Documents made for readers, such as PDF, are refused too: no
// link of theirs is followed, and a few of them outweigh a site. An Include
// that names the ending, such as "*.pdf", lets them in; Config.Files lets all
// of them in. An ending that is not in the table is a page: the server has the
// last word. So is everything below a folder called wiki, blob or blame, where
// a page is often named after the file it is about.
package scope
