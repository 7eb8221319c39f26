// Package doccache keeps the documents of registries and mirrors on disk, so that a
// program that runs again, or beside others, asks only for what may have changed.
//
// A [Transport] is an [net/http.RoundTripper]. It goes into the http.Client of the
// clients, which need not know of it:
//
//	dir, err := os.UserCacheDir()
//	if err != nil {
//		return err
//	}
//	web := &transport.Client{HTTP: &http.Client{Transport: &doccache.Transport{Dir: filepath.Join(dir, "mytool", "documents")}}}
//	registry := &regclient.Client{Transport: web}
//	mirror := &mirrorclient.Client{BaseURL: "https://mirror.example.com/providers/", Transport: web}
//
// It is a private cache as https://www.rfc-editor.org/rfc/rfc9111 describes it. The
// numbers of sections in this package are of that document.
//
// # What is kept
//
// Discovery documents, lists of versions, metadata and locations of packages, documents of
// network mirrors, checksums and signatures: answers to GET over https of up to 16 MiB that
// are JSON or text, or have the name of checksums or of a signature. Redirects, each hop by
// itself, and locations of modules are kept as well. Any other status is not; 401, 403, 404
// and what else shows that a document is not there any more, or is another one now, removes
// it.
//
// All the rest passes untouched, archives above all, and so does
//
//   - what is http, since whoever is in between could plant an answer for a day;
//   - requests for a range or with conditions of their own, and those with a query other
//     than the pages of a list: it may authorise them;
//   - documents with URLs that authorise by themselves: a signature soon ends, a password
//     is not to be on disk;
//   - answers that say no-store, that break off, that are not the JSON they claim to be,
//     or whose end cannot be told from a connection that is lost, and pages in HTML that
//     are not about a module, such as a login page.
//
// # When the server is asked
//
// The server decides how long its answer can be used, by max-age or Expires, but never for
// more than a day; [Transport.FreshFor] makes it longer. After that it is asked whether the
// document has changed, if it gave an entity tag or a date, and otherwise for the document.
// A server that says nothing is asked every time. If it cannot be reached, a stale copy is
// used for as long as [Transport.StaleIfError] or the server allows; with
// [Transport.Offline] a copy is used however old it is.
//
// A request may ask for something newer by a Cache-Control header of its own (no-cache,
// no-store, max-age). A client that keeps what it has read, as disco.Client does for an
// hour, keeps what may have been a day old then; where that matters, set
// [Transport.Refresh].
//
// # Who sees what
//
// An answer is used only for requests with the same URL and the same headers, but for those
// that are never a credential, such as User-Agent: what came for one token is not shown to
// another, nor to nobody. On disk are documents and a few of their headers, but not where they
// came from, no token and no cookie. Documents of private registries are private, so all
// files that hold anything have the mode 0600, and a directory that is made here has 0700.
// The files of locks are empty.
//
// The names of files, and a sum over each, are keyed with a secret in the file "key". Who
// does not have it can plant nothing in the directory: what is damaged, foreign, a link or a
// pipe is ignored and replaced. A key that belongs to another user is not trusted, and then
// nothing is kept.
//
// # Processes
//
// Any number of programs may share a directory. Files appear whole or not at all. Of
// requests for the same document at the same moment one goes to the server, the others wait
// until its answer has been read, but not longer than 5 seconds, which the timeouts of the
// clients in this module do not count. The directory is bounded; what was not used for
// longest is removed. Trouble with it, such as a full disk, costs requests and is never
// an error: see [Transport.Stats] and [Transport.Logger].
//
// Limits of package throttle belong behind the cache, in [Transport.Base]: what comes from
// disk is no request.
//
// # Trust
//
// Packages are verified by what is in the documents as if these had just come. What a
// registry has taken back, such as a version or a key, is noticed when it is asked again: a
// long [Transport.FreshFor] or [Transport.StaleIfError] gives up that time.
package doccache
