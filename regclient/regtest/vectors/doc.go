// Package vectors is the protocols of OpenTofu and Terraform registries as examples: what
// goes in, and what a client must make of it. The examples are JSON files, so that clients
// in any language can be tested with them; this package embeds them for those in Go:
//
//	data, err := vectors.Files.ReadFile("hosts.json")
//
// The files are derived from the protocol documents at https://opentofu.org/docs/internals/
// and from what the CLIs and real servers do. Where a CLI crashes, or accepts what lets two
// programs see two things, the vectors are stricter; a note says so.
//
// # Form
//
// Each file is an object with the properties "about", a sentence, and "cases", a list. The
// two files of constraints have "versions" beside them, against which each is tried. A case
// has its input, and either "error", the kind of error that a client must report, or the
// properties of the result. A property of a result that is absent is empty or not stated.
// "name" and "note" are for people. Not all texts are valid UTF-8: where a property of a case
// ends in "_base64", it stands in place of the one without, and has its bytes.
//
//	hosts.json                 input, parser; ascii, display
//	providers.json             input; host, namespace, type, string
//	modules.json               input; host, namespace, name, system, string
//	module-sources.json        input; module, subdir
//	provider-versions.json     input; string, prerelease, metadata
//	module-versions.json       likewise
//	version-order.json         versions, which are in ascending order
//	provider-constraints.json  input; string, allowed, newest
//	module-constraints.json    likewise
//	discovery.json             host, exchange; services, refused, login
//	provider-lists.json        provider, exchange; versions, warnings
//	provider-packages.json     provider, version, platform, exchange; package
//	module-lists.json          module, exchange; versions, warnings
//	module-answers.json        module, version, exchange; location
//	mirror-indexes.json        base, provider, exchange; versions, warnings
//	mirror-packages.json       base, provider, version, platform, exchange; package
//	locations.json             input; location
//	sums.json                  document, document_pad; files, line
//	hashes.json                input; scheme, string
//	archives.json              zip_base64; zh, h1, h1_unpacked
//	lock-files.json            text; entries, canonical, line
//
// An "exchange" is what servers answer: a list of objects with url, status, headers, and body
// or body_base64. A request for a URL that is not in the list is answered with status 404 and
// no body. A client may ask for more than the list has, and need not ask for all of it. With
// body_pad, spaces follow the body until it has that many bytes; with document_pad, line ends
// follow the document. Lists of versions are newest first. "warnings" is a number, since
// words are up to each client. "line" is where the first error is, counted from 1.
//
// A location has kind ("http", "git", "hg", "s3", "gcs", "oci", "local" or "other"), url, and
// optionally subdir, archive ("zip", "tar.gz", "tar.xz", "tar.bz2", or "none" where it says
// that it is no archive), checksum, ref, depth, ssh_key, tag, digest, getter, direct and
// use_registry_credentials, as package module of this Go module describes them.
//
// # Kinds of errors
//
//	syntax           the text, document or value is not of the form that is wanted
//	media-type       the media type of the answer is not application/json
//	too-large        more bytes or elements than the limit
//	insecure         a URL or redirect that is not https
//	redirect         redirects that lead nowhere
//	unauthorized     the server wants a token, or another one
//	status           another status that means failure
//	not-found        the registry or mirror does not have the provider or module
//	no-version       it does not have the version
//	no-platform      it has no package for the platform
//	no-service       the host does not offer the service, in no version
//	service-version  the host offers the service in other versions
//	local            a location on the machine of the user, from a registry
//	archive          the archive is damaged, or holds what must not be unpacked
//	not-lockable     the provider has no packages that could be locked
//
// Limits are those of this module: hostnames and names as package addrs has them, discovery
// 1 MiB, JSON documents 16 MiB, SHA256SUMS 4 MiB and 10,000 lines. A client with other limits
// leaves out the cases of kind too-large, and takes what is just below them.
package vectors
