"""A repository that keeps what machines have built: layers by their keys, whole rows by their build keys."""
