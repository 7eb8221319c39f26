// Package auth finds the API token for a host.
//
// A token belongs to a user-facing hostname such as registry.example.com, the
// one that people write in addresses, and not to the server that happens to
// answer for it. Programs ask a [Source] for it; sources are combined with
// [Chain] and kept with [Cached]:
//
//	tokens := auth.Cached(auth.Chain(
//		auth.Environ(os.Environ()),
//		token.For(host),
//		auth.Helper{Path: "/usr/local/lib/terraform-credentials-vault"},
//	), time.Hour)
//	token, err := tokens.Token(ctx, host)
//
// A [Store] is a Source that can also save and forget tokens: a [Helper]
// program, or a [CredentialsFile].
//
// Three rules hold for every source in this package:
//
//   - It is safe for concurrent use.
//   - A host without a token is no error: the zero [Token] says so.
//   - A source that fails is an error, a [*SourceError], and no later source
//     hides it. A request is never sent without its token by accident.
//
// A [Token] does not show its secret when it is printed, logged or encoded; see
// there. This package reads no environment variable by itself: [Environ] takes
// the environment as an argument, and files and programs are named by path.
//
// Users and passwords for the servers of module archives are another matter, see
// [Netrc]; they are never used as tokens.
//
// The variables are described at
// https://opentofu.org/docs/cli/config/config-file/#environment-variable-credentials,
// and which requests carry a token at
// https://opentofu.org/docs/internals/remote-service-discovery/.
package auth
