// Package doccache caches documents of registries and mirrors on disk, for programs that run again or at the
// same time. It is experimental.
//
//	documents := &doccache.Transport{Dir: dir} // such as "tool/documents" in os.UserCacheDir
//	web := &transport.Settings{HTTP: &http.Client{Transport: documents}}
//
// It is a private HTTP cache (RFC 9111). It does not cache archives, documents over 16 MiB, answers over http, requests
// with a query that the protocols do not have, and documents with a password or a URL whose query may have a signature.
//
// The server decides how long a document is used without a request, at most a day. A withdrawn version or key is noticed
// later. An answer is used only for the same URL and headers, such as the token. Files contain no requested URL, token
// or cookie. On Unix, their subdirectory has mode 0700; if others can access it, nothing is cached.
//
// Processes may share a directory. Of concurrent requests for a document, one goes to the server; the others wait up to
// 5 seconds. If the directory cannot be used, requests go to the server, see [Stats].
package doccache
