package web

import (
	"context"
	"net/http"
	"time"
)

// A request that asks the store for something small is answered within storePatience, as unavailable if need be: a store
// whose server hangs would let everybody wait. What may take long by itself has until requestTimeout.
const (
	storePatience  = 5 * time.Second
	requestTimeout = 60 * time.Second
)

// unhurriedKey is where the context of a request lies that ends with requestTimeout only.
type unhurriedKey struct{}

// withPatience bounds the work for one request. What is long by itself says so, see [long] and [unhurried].
func withPatience(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole, endWhole := context.WithTimeout(r.Context(), requestTimeout)
		defer endWhole()
		ctx, end := context.WithTimeout(context.WithValue(whole, unhurriedKey{}, whole), storePatience)
		defer end()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// unhurried gives the context for a part of a request that may take long: it reads much history, or waits for others than
// the store.
func unhurried(ctx context.Context) context.Context {
	if whole, ok := ctx.Value(unhurriedKey{}).(context.Context); ok {
		return whole
	}
	return ctx
}

// long is for requests that may take long as a whole. What they read goes through the inventory, which knows when the store
// does not answer.
func long(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error { return h(w, r.WithContext(unhurried(r.Context()))) }
}
