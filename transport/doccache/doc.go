// Package doccache caches the documents of registries and mirrors on disk. A program that
// runs again, or beside others, asks only for documents that may have changed.
//
// A [Transport] is an [net/http.RoundTripper] for the [http.Client] of the clients:
//
//	dir, err := os.UserCacheDir()
//	if err != nil {
//		return err
//	}
//	documents := &doccache.Transport{Dir: filepath.Join(dir, "mytool", "documents")}
//	registry := &regclient.Client{Transport: &transport.Client{HTTP: &http.Client{Transport: documents}}}
//
// It is a private cache as https://www.rfc-editor.org/rfc/rfc9111 describes it. Numbers of
// sections in this package refer to that document.
//
// # What is cached
//
// Discovery documents, lists of versions, metadata and locations of packages, documents of
// network mirrors, checksums and signatures: answers to GET over https of up to 16 MiB that
// are JSON or text, or have the name of checksums or of a signature; redirects, each hop by
// itself; and locations of modules. An answer with another status is not cached. It removes
// the cached document, unless the server could not answer (408, 429, 500 and above).
//
// All other requests and answers pass untouched, archives above all, and also
//
//   - requests over http, whose answers anybody on the way can replace;
//   - requests for a range, with conditions or a Cache-Control header of their own, and
//     requests with a query other than the pages of a list: it may authorise them;
//   - documents with URLs that authorise by themselves, such as a signed URL or a password;
//   - answers with no-store, answers that break off, invalid JSON, and HTML pages that are
//     not about a module, such as a login page.
//
// # When the server is asked
//
// The server decides how long its answer is used, by max-age or Expires, for at most a day;
// [Transport.FreshFor] makes it longer. After that time the server is asked whether the
// document has changed, if the answer had an entity tag or a date. A server that states no
// time is asked every time. If the server cannot be reached, a stale document is used for as
// long as [Transport.StaleIfError] or the server allows. With [Transport.Offline] a document
// is used whatever its age.
//
// Packages are verified by cached documents as by new ones. A long FreshFor or StaleIfError
// delays the moment at which a withdrawn version or key is noticed.
//
// # Privacy
//
// An answer is used only for requests with the same URL and the same headers, except headers
// that differ each time, such as Traceparent. An answer to one token is never given to
// another token, or to a request without one. Files contain documents and a few of their
// headers. Names of files are hashes. Neither contains a URL that was asked, a token or a
// cookie.
//
// Documents of private registries are private. The files are in a directory in Dir that only
// this user can enter. If it belongs to another user, or others have access, nothing is
// cached.
//
// # Processes
//
// Any number of programs may share a directory. Of simultaneous requests for the same
// document one goes to the server, and the others wait for its answer, for at most 5 seconds.
// The timeouts of the clients in this module do not include that time. Trouble with the
// directory, such as a full disk, costs requests and is never an error: see [Transport.Stats]
// and [Transport.Logger].
//
// Limits of package throttle belong behind the cache, in [Transport.Base]: an answer from
// disk is not a request.
package doccache
