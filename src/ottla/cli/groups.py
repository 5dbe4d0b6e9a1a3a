"""Groups of commands."""

import click


class NearestGroup(click.Group):
    """Names the nearest command where there is none of that name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known:
            from difflib import get_close_matches

            near = get_close_matches(args[0], known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
            ctx.fail(f"No command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)
