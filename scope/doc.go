// Package scope decides which discovered URLs belong to a crawl, and names the deciding
// rule.
//
// Every discovered link is checked here first, so that an out-of-scope URL is counted once
// and never sent to another owner. [Rules] holds the configuration: hosts, patterns, depth.
// [Traps] recognises endless URL spaces by their URLs, [Duplicates] by identical pages.
//
// The same calls give the same decisions, a decision takes time linear in the URL whatever
// the patterns are, and all state is bounded by named constants. A refusal has a reason
// code of the outcomes, and a sentence for people.
//
// The package looks up nothing, fetches nothing, has no clock and does not know which URLs
// were seen before: that is up to its callers.
//
// # Modes
//
//   - [Host], the default: the hosts of the seeds. http and https are one, and so are
//     example.com and www.example.com unless they have different owners (www.github.io
//     is a user's page). The ports 80 and 443 are one; any other port is a separate host.
//   - [Domain]: every host of the registrable domains of the seeds.
//   - [Prefix]: the host of a seed, as in Host, and its path up to the last slash.
//   - [List]: exactly the hosts of the seeds and of Config.Hosts; www is another host.
//   - [Any]: every host.
//
// # Patterns
//
// Config.Include and Config.Exclude take globs, and regular expressions after "re:". A glob
// must match completely. What it is compared with depends on how it starts:
//
//   - "/docs/**" or "**/print/**" starts with a slash or with "**": the path;
//   - "https://*.example.com/**" has a scheme: the whole URL;
//   - "*.pdf" has no slash: the last segment of the path.
//
// "*" matches any run of characters without a slash, "**" any run at all, "?" one character
// that is not a slash, and "\" escapes the next character. A glob that contains a "?" is
// compared with path and query, any other with the path alone: "/cart" also matches
// /cart?add=7, and "/search?q=*" means what it looks like. Matching is case-sensitive, and
// non-ASCII characters may be written as they are or escaped.
//
// "re:" takes RE2 syntax and searches the whole canonical URL, query included.
//
// Exclude overrides Include. With any Include, a URL must match one of them; seeds and
// their redirect targets need not ([Rules.DecideSeed]).
//
// # Non-HTML files
//
// Images, fonts, archives and videos are not pages and would use up the page limit, so
// links with such a file extension are refused with [NonDocument]. Documents such as PDF
// are refused too: their links are not followed, and a few of them can be larger than a
// site. An Include with the extension, such as "*.pdf", includes them; Config.Files
// includes all files. An unknown extension is a page: the server decides. So is everything
// below a folder named wiki, blob or blame, where pages are often named after files.
package scope
