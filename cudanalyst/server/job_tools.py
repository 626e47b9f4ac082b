"""Handlers of work that outlived its call: job_status and job_cancel."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from cudanalyst.resources.answers import JobResult
from cudanalyst.server.arguments import WaitS
from cudanalyst.server.call import Call
from cudanalyst.server.jobs import Job, end
from cudanalyst.server.services import Group

JobHandle = Annotated[str, Field(description="Handle from a result whose status is running")]


class JobTools(Group):
    """Handlers of jobs."""

    async def job_status(self, call: Call, job: JobHandle, wait_s: WaitS = 20.0) -> JobResult:
        """Waits for a job, and gives its result or how far it is."""
        found = self.services.jobs.find(job, call.owner)
        call.progress.say(lambda: f"{found.tool}: {found.call.progress.words}")
        await self.services.jobs.wait(found, wait_s, call.progress)
        return await self._told(call, found)

    async def job_cancel(self, call: Call, job: JobHandle) -> JobResult:
        """Ends a job and every process that it started."""
        found = self.services.jobs.find(job, call.owner)
        await end(found.task)
        return await self._told(call, found)

    async def _told(self, call: Call, job: Job) -> JobResult:
        seconds = round(job.seconds(self.services.jobs.now()), 1)
        result: dict[str, Any] | None = None
        stage = job.call.progress.words if job.state == "running" else None
        if job.state == "finished":
            answer: tuple[BaseModel, dict[str, Any]] = job.task.result()
            result = answer[1]
            if job.delivery is not None:
                await self.services.ledger.delivered(call, job.delivery.model_copy(update={"via": "job_status"}))
        words = {
            "running": f"{job.tool} is still at it after {seconds} s: {stage}. Ask again.",
            "finished": f"{job.tool} finished: {(result or {}).get('summary', '')}",
            "failed": f"{job.tool} failed: {job.error}",
            "cancelled": f"{job.tool} was cancelled; nothing of it runs on.",
        }
        return JobResult(
            status=job.state,
            summary=words[job.state],
            job=job.id,
            tool=job.tool,
            stage=stage,
            elapsed_s=seconds,
            error=job.error,
            result=result,
        )
